package proxy

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Route sends the requests for a path, and for all below it, to its targets.
type Route struct {
	Path    string // begins with /; ends with / only if it is all of it
	Targets []Target
}

// TargetsMax is the greatest number of targets of a route.
const TargetsMax = 64

// Routes are the routes of a server, the longest path first.
type Routes []Route

// ParseRoutes reads the values of --proxy, each [PATH=]URL. Values with one path
// make one route of several targets.
func ParseRoutes(values []string) (Routes, error) {
	var routes Routes
	for _, value := range values {
		path, target, err := parseRoute(value)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(routes, func(r Route) bool { return r.Path == path })
		if i < 0 {
			i = len(routes)
			routes = append(routes, Route{Path: path})
		}
		if len(routes[i].Targets) == TargetsMax {
			return nil, fmt.Errorf("proxy %q: more than %d upstreams", value, TargetsMax)
		}
		routes[i].Targets = append(routes[i].Targets, target)
	}
	slices.SortStableFunc(routes, func(a, b Route) int { return len(b.Path) - len(a.Path) })
	return routes, nil
}

func parseRoute(value string) (path string, t Target, err error) {
	path = "/"
	if strings.HasPrefix(value, "/") {
		p, rest, ok := strings.Cut(value, "=")
		path = strings.TrimRight(p, "/")
		if !ok || !isRoutePath(path) {
			return "", t, fmt.Errorf("proxy %q: %w", value, ErrRoutePath)
		}
		value = rest
		if path == "" {
			path = "/"
		}
	}
	t, err = ParseTarget(value)
	return path, t, err
}

// isRoutePath says that a path that Match is given can be below p.
func isRoutePath(p string) bool {
	decoded, err := url.PathUnescape(p)
	return (err != nil || decoded == p) && !strings.ContainsAny(p, "?#\x00") && !strings.Contains(p, "//") && !hasDots(p)
}

// Match is the index of the route for path, -1 if there is none. path is the
// decoded one without dot segments: the form in which there is one spelling for
// one place.
func (r Routes) Match(path []byte) int {
	for i := range r {
		p := r[i].Path
		if len(path) < len(p) || string(path[:len(p)]) != p {
			continue
		}
		if len(p) == 1 || len(path) == len(p) || path[len(p)] == '/' {
			return i
		}
	}
	return -1
}
