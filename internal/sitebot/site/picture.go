package site

import (
	"bytes"
	"net/http"
	"path/filepath"
	"strings"

	"rehearse/internal/source"
)

// maxPicture bounds the file of a logo: every visitor loads it.
const maxPicture = 256 << 10

// pictureTypes are the media types of pictures by the ends of their names.
var pictureTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".svg": "image/svg+xml",
}

// picture reads the picture in a file beside the site. It is read once, when the site is, so that no visitor's request opens a file.
func (r *reader) picture(n source.Node, name string) *Picture {
	kind, known := pictureTypes[strings.ToLower(filepath.Ext(name))]
	path := filepath.Join(r.site.Dir, filepath.FromSlash(name))
	switch {
	case !filepath.IsLocal(filepath.FromSlash(name)):
		n.Report("put it beside the site's file and write its name", "%q is not a file beside the site", clip(name))
		return nil
	case !known:
		n.Report("use a .png, .jpg, .gif, .webp or .svg file", "%q is not the name of a picture", clip(name))
		return nil
	}
	info, err := r.from.Stat(path)
	switch {
	case err != nil || !info.Mode().IsRegular():
		n.Report("correct the name; it starts from this file", "there is no picture %s", path)
		return nil
	case info.Size() > maxPicture:
		n.Report("make it smaller: it is shown 32 pixels high", "the picture is larger than %d KB", maxPicture>>10)
		return nil
	}
	data, err := r.from.ReadFile(path)
	if err != nil {
		n.Report("", "the picture cannot be read: %v", err)
		return nil
	}
	if len(data) > maxPicture || !isPicture(kind, data) {
		n.Report("save it again in the format that its name says", "the file %s holds no picture of the type %s", path, kind)
		return nil
	}
	return &Picture{kind, data}
}

// isPicture reports whether data begins like a picture of a type. A picture that lies about its type is not served.
func isPicture(kind string, data []byte) bool {
	if kind == pictureTypes[".svg"] {
		return bytes.Contains(data[:min(len(data), 4<<10)], []byte("<svg"))
	}
	return http.DetectContentType(data) == kind
}
