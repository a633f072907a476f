// Media types by file name.

package site

import "bytes"

// mediaTypes are the Content-Type values, by the number an entry keeps; 0 is
// for names that say nothing.
var mediaTypes, mediaByExtension = buildMediaTypes()

// mediaTable: a type and its extensions. Text is declared UTF-8; what declares
// its own encoding (XML, JSON, fonts) is left to do so.
var mediaTable = [...]struct{ value, extensions string }{
	{"application/octet-stream", "bin"},
	{"text/html; charset=utf-8", "html htm"},
	{"text/css; charset=utf-8", "css"},
	{"text/javascript; charset=utf-8", "js mjs cjs"}, // RFC 9239
	{"application/json", "json map topojson"},
	{"application/ld+json", "jsonld"},
	{"application/geo+json", "geojson"},
	{"application/manifest+json", "webmanifest"},
	{"application/wasm", "wasm"},
	{"application/xml", "xml xsd xsl"},
	{"application/xhtml+xml", "xhtml"},
	{"application/atom+xml", "atom"},
	{"application/rss+xml", "rss"},
	{"application/pdf", "pdf"},
	{"application/rtf", "rtf"},
	{"application/epub+zip", "epub"},
	{"application/zip", "zip"},
	{"application/gzip", "gz tgz"},
	{"application/zstd", "zst"},
	{"application/x-bzip2", "bz2"},
	{"application/x-xz", "xz"},
	{"application/x-tar", "tar"},
	{"application/x-7z-compressed", "7z"},
	{"application/java-archive", "jar"},
	{"application/vnd.android.package-archive", "apk"},
	{"application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"},
	{"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"},
	{"application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx"},
	{"application/vnd.oasis.opendocument.text", "odt"},
	{"application/vnd.oasis.opendocument.spreadsheet", "ods"},
	{"application/vnd.apple.mpegurl", "m3u8"},
	{"application/dash+xml", "mpd"},
	{"text/plain; charset=utf-8", "txt text log asc"},
	{"text/markdown; charset=utf-8", "md markdown"},
	{"text/csv; charset=utf-8", "csv"},
	{"text/calendar; charset=utf-8", "ics"},
	{"text/vcard; charset=utf-8", "vcf"},
	{"text/vtt; charset=utf-8", "vtt"},
	{"image/avif", "avif"},
	{"image/webp", "webp"},
	{"image/png", "png"},
	{"image/apng", "apng"},
	{"image/jpeg", "jpg jpeg jfif"},
	{"image/jxl", "jxl"},
	{"image/gif", "gif"},
	{"image/svg+xml", "svg"},
	{"image/x-icon", "ico"},
	{"image/bmp", "bmp"},
	{"image/tiff", "tif tiff"},
	{"image/heic", "heic"},
	{"audio/mpeg", "mp3"},
	{"audio/mp4", "m4a"},
	{"audio/aac", "aac"},
	{"audio/ogg", "ogg oga opus"},
	{"audio/flac", "flac"},
	{"audio/wav", "wav"},
	{"audio/midi", "mid midi"},
	{"video/mp4", "mp4 m4v"},
	{"video/webm", "webm"},
	{"video/ogg", "ogv"},
	{"video/quicktime", "mov"},
	{"video/mp2t", "ts"},
	{"video/x-matroska", "mkv"},
	{"font/woff2", "woff2"},
	{"font/woff", "woff"},
	{"font/ttf", "ttf"},
	{"font/otf", "otf"},
	{"font/collection", "ttc"},
	{"model/gltf-binary", "glb"},
	{"model/gltf+json", "gltf"},
}

func buildMediaTypes() (values [][]byte, byExtension map[string]uint8) {
	byExtension = make(map[string]uint8)
	for i, row := range mediaTable {
		values = append(values, []byte(row.value))
		for extension := range bytes.FieldsSeq([]byte(row.extensions)) {
			byExtension[string(extension)] = uint8(i)
		}
	}
	return values, byExtension
}

// mediaOf is the number of the media type of the file called name.
func mediaOf(name []byte) uint8 {
	dot := bytes.LastIndexByte(name, '.')
	if dot < 0 || bytes.IndexByte(name[dot:], '/') >= 0 {
		return 0
	}
	var buf [16]byte
	extension := append(buf[:0], name[dot+1:]...)
	for i, c := range extension {
		if 'A' <= c && c <= 'Z' {
			extension[i] = c + 'a' - 'A'
		}
	}
	return mediaByExtension[string(extension)]
}
