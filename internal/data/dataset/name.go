package dataset

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Kind is the kind of place in which a dataset is kept.
type Kind int

// The kinds of places.
const (
	// InFile is a file of records.
	InFile Kind = iota
	// InStore is a store: a SQLite file or a PostgreSQL database.
	InStore
	// InLangfuse is the Langfuse that the environment names.
	InLangfuse
)

const (
	// ProjectStore is the address of the store of the project, which its configuration names.
	ProjectStore = "store"

	langfuseScheme = "langfuse:"
	storeScheme    = "store:"
	sqliteScheme   = "sqlite:"

	// MaxName is how long the name of a dataset in a store may be, in bytes.
	MaxName = 255

	storeForms = "write store:NAME for the store of rehearse.yaml, sqlite:PATH#NAME, " +
		"or postgres://USER@HOST/DATABASE#NAME"
)

// Name names a dataset and the place in which it is kept. ParseName makes it.
type Name struct {
	Kind Kind
	// Store is the address of the store: ProjectStore, sqlite:PATH, or the URL of a PostgreSQL database, which may hold
	// a password. It is empty for the other kinds.
	Store string
	// Dataset is the name of the dataset in its store or in Langfuse, or the path of the file.
	Dataset string
	// bare is set for a name in Langfuse without its scheme, which may have been meant as a file.
	bare bool
}

// ParseName reads the name of a dataset: store:NAME, sqlite:PATH#NAME, postgres://USER@HOST/DATABASE#NAME,
// langfuse:NAME, or the path of a file that exists or ends in .jsonl, .ndjson, .json or .csv, also with .gz. Any other
// name is that of a dataset in Langfuse. The error is an input error.
func ParseName(text string) (Name, error) {
	switch {
	case strings.HasPrefix(text, storeScheme):
		return checkedName(text, Name{
			Kind: InStore, Store: ProjectStore, Dataset: strings.TrimPrefix(text, storeScheme),
		})
	case IsStore(text):
		address, name, _ := strings.Cut(text, "#")
		return checkedName(text, Name{Kind: InStore, Store: address, Dataset: name})
	case !strings.HasPrefix(text, langfuseScheme) && likeFile(text):
		return Name{Kind: InFile, Dataset: text}, nil
	}
	remote, said := strings.CutPrefix(text, langfuseScheme)
	if strings.TrimSpace(remote) == "" {
		return Name{}, source.Invalid("the name of the dataset is empty: `rehearse dataset list` shows which there are")
	}
	return Name{Kind: InLangfuse, Dataset: remote, bare: !said}, nil
}

// checkedName refuses what cannot be a name in a store.
func checkedName(text string, n Name) (Name, error) {
	switch {
	case strings.TrimSpace(n.Dataset) == "":
		return Name{}, source.Invalid("%s names no dataset in the store: %s", WithoutPassword(text), storeForms)
	case len(n.Dataset) > MaxName:
		return Name{}, source.Invalid("the name of the dataset has %d bytes: use at most %d", len(n.Dataset), MaxName)
	}
	return n, nil
}

// NamesStore reports whether a text names a dataset in a store.
func NamesStore(text string) bool { return strings.HasPrefix(text, storeScheme) || IsStore(text) }

// IsStore reports whether a text is the address of a store, or begins with one.
func IsStore(text string) bool {
	return text == ProjectStore || strings.HasPrefix(text, sqliteScheme) || isPostgres(text)
}

func isPostgres(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
}

// IsFile reports whether a text names a dataset in a file.
func IsFile(text string) bool {
	n, err := ParseName(text)
	return err == nil && n.Kind == InFile
}

// likeFile reports whether a text is the path of a file: by its ending, or because the file exists.
func likeFile(text string) bool {
	kinds := []string{".jsonl", ".ndjson", ".json", ".csv"}
	if slices.Contains(kinds, strings.ToLower(filepath.Ext(strings.TrimSuffix(text, ".gz")))) {
		return true
	}
	info, err := os.Stat(text)
	return err == nil && !info.IsDir()
}

// String returns the name by which the dataset can be found again, without a password.
func (n Name) String() string {
	switch {
	case n.Kind == InLangfuse:
		return langfuseScheme + n.Dataset
	case n.Kind == InFile:
		return n.Dataset
	case n.Store == ProjectStore:
		return storeScheme + n.Dataset
	}
	return WithoutPassword(n.Store) + "#" + n.Dataset
}

// Title returns the dataset's name without its place: that of a file loses its folder and its ending.
func (n Name) Title() string {
	if n.Kind != InFile {
		return n.Dataset
	}
	name := strings.TrimSuffix(filepath.Base(n.Dataset), ".gz")
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// Storable returns n if its dataset is in Langfuse or in a store, and else an input error.
func (n Name) Storable() (Name, error) {
	if n.Kind == InFile {
		return n, source.Invalid(
			"%s is a file, but a dataset in Langfuse is wanted here: write its name, or %s%s if it is called that",
			n.Dataset, langfuseScheme, n.Dataset)
	}
	return n, nil
}

// WithoutPassword returns the address of a store, or the name of a dataset in one, as it may be shown.
func WithoutPassword(address string) string {
	if !isPostgres(address) {
		return address
	}
	u, err := url.Parse(address)
	if err != nil { // its text may hold a part of the password
		return "postgres://…"
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	query := u.Query()
	query.Del("password")
	query.Del("sslpassword")
	u.RawQuery = query.Encode()
	return u.String()
}
