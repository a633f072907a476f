// Package tidy holds the rules of the house, as tests: who may import whom, how
// long a file may be, what the README must say. It has no code of its own.
//
// It looks at the files of the tree alone and runs nothing.
package tidy
