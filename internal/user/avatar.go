package user

import "stithy/internal/kit/picture"

var avatars = picture.Shelf{Put: sqlPutAvatar, Drop: sqlDropAvatar, Get: sqlAvatar}
