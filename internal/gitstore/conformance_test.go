package gitstore_test

import (
	"testing"

	"stithy/internal/gitstore"
	"stithy/internal/gitstore/gitstoretest"
)

func TestTheEngineConforms(t *testing.T) {
	t.Parallel()
	s := gitstoretest.Open(t)
	gitstoretest.Conformance(t, gitstoretest.Engine{
		Repository: func(_ testing.TB, projectID int64) gitstoretest.Repository {
			return s.Repo(gitstore.KeyOf(gitstoretest.Storage, projectID, 0))
		},
		Seed: func(t testing.TB, r gitstoretest.Repository, commits ...gitstoretest.Commit) []gitstore.OID {
			return gitstoretest.Seed(t, s, r.(*gitstore.Repo), commits...)
		},
	})
}
