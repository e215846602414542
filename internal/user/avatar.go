package user

import (
	"context"
	"errors"
	"path"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
)

const maxAvatar = 200 << 10

// pictures are the formats that a browser shows and that hold no script.
var pictures = []struct {
	magic       string // ? stands for any byte
	contentType string
	extensions  []string
}{
	{"\x89PNG\r\n\x1a\n", "image/png", []string{".png"}},
	{"\xff\xd8\xff", "image/jpeg", []string{".jpg", ".jpeg"}},
	{"GIF87a", "image/gif", []string{".gif"}},
	{"GIF89a", "image/gif", []string{".gif"}},
	{"RIFF????WEBP", "image/webp", []string{".webp"}},
	{"\x00\x00\x01\x00", "image/vnd.microsoft.icon", []string{".ico"}},
	{"BM????\x00\x00\x00\x00", "image/bmp", []string{".bmp"}},
}

// storedAvatar is a picture as it is served.
type storedAvatar struct {
	ContentType string
	Content     []byte
	UpdatedAt   time.Time
}

// setAvatar gives an account a picture. What the picture is follows from its
// content; its name and declared type are hearsay.
func (s *Service) setAvatar(ctx context.Context, tx pgx.Tx, u *User, name string, data []byte) error {
	if name == "" && len(data) == 0 {
		u.Avatar = ""
		_, err := tx.Exec(ctx, sqlDropAvatar, u.ID)
		return err
	}
	if len(data) > maxAvatar {
		return fault.Field("avatar", "is too big (should be at most 200 KiB)")
	}
	contentType, extensions := sniff(data)
	if contentType == "" {
		return fault.Field("avatar", "file format is not supported. Please try one of the following supported formats: png, jpg, jpeg, gif, bmp, ico, webp")
	}
	if _, err := tx.Exec(ctx, sqlPutAvatar, u.ID, contentType, data); err != nil {
		return err
	}
	u.Avatar = avatarName(name, extensions)
	_, err := tx.Exec(ctx, sqlNameAvatar, u.ID, u.Avatar)
	return err
}

func sniff(data []byte) (contentType string, extensions []string) {
	for _, p := range pictures {
		if matchesMagic(data, p.magic) {
			return p.contentType, p.extensions
		}
	}
	return "", nil
}

func matchesMagic(data []byte, magic string) bool {
	if len(data) < len(magic) {
		return false
	}
	for i := range len(magic) {
		if magic[i] != '?' && magic[i] != data[i] {
			return false
		}
	}
	return true
}

// avatarName makes a name that is safe in a path and says what the picture is.
func avatarName(name string, extensions []string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	stem := strings.TrimSuffix(name, path.Ext(name))
	stem = strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, stem), ".")
	if stem == "" {
		stem = "avatar"
	}
	extension := extensions[0]
	for _, e := range extensions {
		if asciiLower(path.Ext(name)) == e {
			extension = e
		}
	}
	return stem[:min(len(stem), 200)] + extension
}

// avatar reads the picture of an account under its present name.
func (s *Service) avatar(ctx context.Context, userID int64, name string) (storedAvatar, error) {
	a, err := postgres.One[storedAvatar](ctx, s.db, sqlAvatar, userID, name)
	if errors.Is(err, postgres.ErrNoRows) {
		return storedAvatar{}, fault.New(fault.NotFound)
	}
	return a, err
}
