package user

import "stithy/internal/kit/picture"

var avatars = picture.Store{Put: sqlPutAvatar, Drop: sqlDropAvatar, Get: sqlAvatar}
