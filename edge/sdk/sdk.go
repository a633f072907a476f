// Package sdk is what programs for edge are written with: the header edge.h, and
// a call of clang that knows how to compile with it.
//
// It knows no helper but by the text of the header: the gateway has the functions,
// and its tests hold the two together.
package sdk

import _ "embed"

// Header is the text of edge.h.
//
//go:embed edge.h
var Header string

// HeaderName is what programs include it by.
const HeaderName = "edge.h"
