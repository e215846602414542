package setting

import (
	"testing"

	"stithy/internal/platform/postgres/postgrestest"
)

func TestEveryQueryIsUnderstood(t *testing.T) {
	t.Parallel()
	tx := postgrestest.Tx(t)
	for name, sql := range map[string]string{
		"state": sqlState, "lock": sqlLock, "update": sqlUpdate, "touch": sqlTouch, "notify": sqlNotify,
		"feature": sqlFeature, "set_feature": sqlSetFeature, "remove_feature": sqlRemoveFeature,
	} {
		if _, err := tx.Prepare(t.Context(), name, sql); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
