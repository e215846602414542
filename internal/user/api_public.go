package user

// Public is an account as everyone sees it, for the forms of other rooms.
type Public = publicUser

// PublicForm presents an account to everyone.
func (s *Service) PublicForm(b Brief) Public { return s.briefForm(b) }
