package httpmsg

import "strconv"

// ErrorPageType is the Content-Type of an error page.
const ErrorPageType = "text/html; charset=utf-8"

// AppendErrorPage appends a small HTML page that names status and, if detail is
// not empty, says in words what is wrong. detail may hold any bytes: it is
// escaped. The page refers to nothing outside itself.
func AppendErrorPage(dst []byte, status int, detail string) []byte {
	dst = append(dst, "<!doctype html>\n<meta charset=utf-8>\n<title>"...)
	dst = appendStatus(dst, status)
	dst = append(dst, "</title>\n<h1>"...)
	dst = appendStatus(dst, status)
	dst = append(dst, "</h1>\n"...)
	if detail != "" {
		dst = append(dst, "<p>"...)
		dst = AppendEscaped(dst, detail)
		dst = append(dst, "</p>\n"...)
	}
	return dst
}

// ErrorPage is the page of AppendErrorPage without detail, made once. It must
// not be changed. It is nil for a status without a text.
func ErrorPage(status int) []byte {
	if status < 400 || status >= len(statusTexts) {
		return nil
	}
	return errorPages[status-400]
}

var errorPages = makeErrorPages()

func makeErrorPages() (t [200][]byte) {
	for i := range t {
		if StatusText(400+i) != "" {
			t[i] = AppendErrorPage(nil, 400+i, "")
		}
	}
	return t
}

// appendStatus appends the code and its text.
func appendStatus(dst []byte, status int) []byte {
	dst = strconv.AppendInt(dst, int64(status), 10)
	if text := StatusText(status); text != "" {
		dst = append(dst, ' ')
		dst = append(dst, text...)
	}
	return dst
}

// AppendEscaped appends s as HTML text or a quoted attribute: markup is escaped,
// control bytes but tab and line ends become question marks.
func AppendEscaped(dst []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; {
		case c == '&':
			dst = append(dst, "&amp;"...)
		case c == '<':
			dst = append(dst, "&lt;"...)
		case c == '>':
			dst = append(dst, "&gt;"...)
		case c == '"':
			dst = append(dst, "&#34;"...)
		case c == '\'':
			dst = append(dst, "&#39;"...)
		case c < ' ' && c != '\t' && c != '\n' && c != '\r', c == 0x7f:
			dst = append(dst, '?')
		default:
			dst = append(dst, c)
		}
	}
	return dst
}
