package alert

const imageColumns = `m.id, m.alert_id, m.filename, m.media, m.blob_key, m.size, m.url, m.url_text, m.created_at`

const (
	sqlImages    = `select ` + imageColumns + ` from alert_metric_images m where m.alert_id = $1 and m.state = 'stored' order by m.id limit $2`
	sqlImage     = `select ` + imageColumns + ` from alert_metric_images m where m.alert_id = $1 and m.id = $2 and m.state = 'stored'`
	sqlLockImage = sqlImage + ` for update`

	sqlHoldAlert   = `select id from alerts where id = $1 for no key update`
	sqlCountImages = `select count(*) from alert_metric_images where alert_id = $1 and state <> 'removing'`
	sqlAddImage    = `
insert into alert_metric_images (alert_id, user_id, state, filename, media, blob_key, size, url, url_text, created_at, updated_at)
values ($1, $2, 'storing', $3, $4, $5, $6, $7, $8, $9, $9) returning id`
	// One whose alert went while the bytes came is found by the sweep.
	sqlImageStored = `
update alert_metric_images m set state = 'stored', updated_at = $2 where m.id = $1 and m.state = 'storing' and m.alert_id is not null
returning ` + imageColumns
	sqlSetImage    = `update alert_metric_images m set url = $2, url_text = $3, updated_at = $4 where m.id = $1 returning ` + imageColumns
	sqlDropImage   = `update alert_metric_images set state = 'removing', updated_at = $2 where id = $1 and state = 'storing'`
	sqlRemoveImage = `
update alert_metric_images set state = 'removing', updated_at = $3 where alert_id = $1 and id = $2 and state = 'stored' returning id`

	sqlDoomImages = `
update alert_metric_images set state = 'removing', updated_at = $1 where id in (
	(select id from alert_metric_images where state = 'storing' and updated_at < $2 order by updated_at, id limit $3)
	union all (select id from alert_metric_images where alert_id is null and state = 'stored' order by id limit $3) limit $3)`
	sqlDoomedImages = `select id, blob_key from alert_metric_images where state = 'removing' order by updated_at, id limit $1`
	sqlForgetImages = `delete from alert_metric_images where id = any($1::bigint[]) and state = 'removing'`
)
