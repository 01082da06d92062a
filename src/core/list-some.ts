/** Joins the first of `all` texts, and appends how many are left, such as `a, b, and 3 more`. */
export function listSome(first: readonly string[], all: number, and: ', and' | ' and' = ', and'): string {
  const left = all - first.length
  return `${first.join(', ')}${left > 0 ? `${and} ${left} more` : ''}`
}
