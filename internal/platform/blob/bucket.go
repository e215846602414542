package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// partSize is how much of a large blob is in memory at a time.
const partSize = 16 << 20

// stalled is how long the store may be silent while it is to take or to give
// bytes. Whoever waits longer holds up a runner that could try again.
const stalled = 2 * time.Minute

// impatient is a connection that breaks when nothing moves on it.
type impatient struct {
	net.Conn
	most time.Duration
}

func (c *impatient) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.most)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write also gives the answer more time, which is waited for from the
// beginning of a request on.
func (c *impatient) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.most)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// bucket keeps blobs in an S3 bucket below a prefix.
type bucket struct {
	client *minio.Client
	name   string
	prefix string // "" or "folder/"
}

// openBucket reads s3://key:secret@host/bucket[/prefix]?region=r&tls=false.
// Without a key it asks the environment and the machine, as other clients of
// S3 do.
func openBucket(u *url.URL) (Store, error) {
	name, prefix, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	if u.Host == "" || name == "" {
		return nil, errors.New("blob_url: an S3 store is s3://key:secret@host/bucket?region=r")
	}
	login := credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
	})
	if u.User != nil {
		secret, _ := u.User.Password()
		login = credentials.NewStaticV4(u.User.Username(), secret, "")
	}
	secure := u.Query().Get("tls") != "false"
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, fmt.Errorf("blob_url: %w", err)
	}
	connect := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := connect(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &impatient{Conn: conn, most: stalled}, nil
	}
	client, err := minio.New(u.Host, &minio.Options{
		Creds: login, Secure: secure, Region: u.Query().Get("region"), BucketLookup: minio.BucketLookupPath, MaxRetries: 3, Transport: transport,
	})
	if err != nil {
		return nil, fmt.Errorf("blob_url: %w", err)
	}
	if prefix != "" {
		prefix += "/"
	}
	return &bucket{client: client, name: name, prefix: prefix}, nil
}

func (b *bucket) Put(ctx context.Context, key string, body io.Reader, size int64) error {
	if err := checkKey(key); err != nil {
		return err
	}
	return b.put(ctx, key, body, size)
}

func (b *bucket) put(ctx context.Context, key string, body io.Reader, size int64) error {
	// The reader is hidden behind one that can only be read: a body is sent
	// once, and what it was is checked on the way.
	_, err := b.client.PutObject(ctx, b.name, b.prefix+key, measured(body, size), size, minio.PutObjectOptions{
		PartSize: partSize, DisableContentSha256: true, SendContentMd5: true,
	})
	return err
}

func (b *bucket) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	if length == 0 {
		return io.NopCloser(strings.NewReader("")), nil
	}
	return b.get(ctx, key, offset, length)
}

func (b *bucket) get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	var options minio.GetObjectOptions
	if offset > 0 || length > 0 {
		last := int64(0)
		if length > 0 {
			last = offset + length - 1
		}
		if err := options.SetRange(offset, last); err != nil {
			return nil, err
		}
	}
	core := minio.Core{Client: b.client}
	body, _, _, err := core.GetObject(ctx, b.name, b.prefix+key, options)
	if err != nil {
		return nil, absent(err)
	}
	return &fetched{ReadCloser: body, ctx: ctx}, nil
}

// fetched blames the store for what breaks off on the way.
type fetched struct {
	io.ReadCloser
	ctx context.Context
}

func (f *fetched) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && f.ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return n, err
}

func (b *bucket) Stat(ctx context.Context, key string) (Info, error) {
	if err := checkKey(key); err != nil {
		return Info{}, err
	}
	o, err := b.client.StatObject(ctx, b.name, b.prefix+key, minio.StatObjectOptions{})
	if err != nil {
		return Info{}, absent(err)
	}
	return Info{Key: key, Size: o.Size, Modified: o.LastModified}, nil
}

func (b *bucket) Delete(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if err := absent(b.client.RemoveObject(ctx, b.name, b.prefix+key, minio.RemoveObjectOptions{})); !errors.Is(err, ErrNotFound) {
		return err
	}
	return nil
}

func (b *bucket) List(ctx context.Context, prefix, after string, limit int) ([]Info, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	options := minio.ListObjectsOptions{Prefix: b.prefix + prefix, Recursive: true, MaxKeys: min(limit, 1000)}
	if after != "" {
		options.StartAfter = b.prefix + after
	}
	var found []Info
	for o := range b.client.ListObjects(ctx, b.name, options) {
		if o.Err != nil {
			return nil, o.Err
		}
		if strings.HasPrefix(o.Key, b.prefix+".") {
			continue // the mark
		}
		found = append(found, Info{Key: strings.TrimPrefix(o.Key, b.prefix), Size: o.Size, Modified: o.LastModified})
		if len(found) == limit {
			break
		}
	}
	return found, nil
}

func (b *bucket) Ping(ctx context.Context) error {
	there, err := b.client.BucketExists(ctx, b.name)
	if err == nil && !there {
		err = fmt.Errorf("there is no bucket %s", b.name)
	}
	return err
}

func (b *bucket) Mark(ctx context.Context) (string, error) {
	body, err := b.get(ctx, markName, 0, -1)
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return readMark(body)
}

func (b *bucket) SetMark(ctx context.Context, mark string) error {
	return b.put(ctx, markName, strings.NewReader(mark), int64(len(mark)))
}

func (b *bucket) Place() string {
	if b.prefix != "" {
		return "the bucket " + b.name + " below " + b.prefix
	}
	return "the bucket " + b.name
}

func absent(err error) error {
	if code := minio.ToErrorResponse(err).Code; code == minio.NoSuchKey {
		return ErrNotFound
	}
	return err
}
