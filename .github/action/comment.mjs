/** The author of comments that are made with the token of a workflow. Comments of other authors are never edited. */
const AUTHOR = 'github-actions[bot]'
const PAGE = 100

/**
 * Creates the comment with a marker on a pull request, or updates it.
 *
 * @param marker an HTML comment that is the first line of the comment
 * @param token needs the permission `pull-requests: write`
 */
export async function commentOnPullRequest({ api, repository, number, token, marker, body }) {
  const issue = `${api}/repos/${repository}/issues`
  const text = JSON.stringify({ body: `${marker}\n${body}` })
  const found = await findComment(
    (page) => request(token, `${issue}/${number}/comments?per_page=${PAGE}&page=${page}`),
    marker,
  )
  if (found === undefined) await request(token, `${issue}/${number}/comments`, 'POST', text)
  else await request(token, `${issue}/comments/${found.id}`, 'PATCH', text)
}

async function findComment(read, marker) {
  for (let page = 1; ; page++) {
    const comments = await read(page)
    const found = comments.find(({ user, body }) => user?.login === AUTHOR && body?.startsWith(`${marker}\n`))
    if (found !== undefined || comments.length < PAGE) return found
  }
}

async function request(token, url, method = 'GET', body) {
  const headers = {
    accept: 'application/vnd.github+json',
    authorization: `Bearer ${token}`,
    'x-github-api-version': '2022-11-28',
  }
  const response = await fetch(url, { method, headers, body, signal: AbortSignal.timeout(30_000) })
  if (response.ok) return await response.json()
  const why =
    response.status === 403 || response.status === 404 ? ': the job needs `permissions: pull-requests: write`' : ''
  throw new Error(`the plan could not be posted as a comment: GitHub returned ${response.status}${why}`)
}
