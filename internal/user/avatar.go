package user

import "stithy/internal/kit/avatar"

var avatars = avatar.Store{Put: sqlPutAvatar, Drop: sqlDropAvatar, Get: sqlAvatar}
