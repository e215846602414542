package notification

// SQLResolve is the statement of Resolve, whose plan is looked at.
const SQLResolve = sqlResolve
