// Links of the pages: docs/ is written for GitHub, where a link is the path of a file.
import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { root } from '../../src/build/paths.mjs'

const README = 'README.md'
/** The file that docs/site/deploy.md includes. */
const DEPLOY = 'examples/deploy/README.md'

/** Returns the URL of the repository; undefined while package.json has the placeholder. */
export function repositoryUrl(manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))) {
  const url = manifest.repository.url.replace(/^git\+/, '').replace(/\.git$/, '')
  return url.includes('/OWNER/') ? undefined : url
}

/**
 * Returns where a link leads on the site.
 *
 * @param page path of the page with the link, from the root of the repository
 * @returns a URL, or the path of a file that is only in the repository
 */
export function resolveLink(href, page, repository) {
  if (/^(?:[a-z]+:|#|\/)/i.test(href)) return { url: href }
  const [target, hash] = href.split('#')
  const path = posix.join(posix.dirname(page), target)
  const anchor = hash === undefined ? '' : `#${hash}`
  if (path === README) return { url: `/${anchor}` }
  if (path === DEPLOY) return { url: `/deploy${anchor}` }
  const [, name] = /^docs\/(.*\.md)$/.exec(path) ?? []
  if (name !== undefined) return { url: `/${name.replace(/README\.md$/, 'index.md')}${anchor}` }
  return repository === undefined ? { path } : { url: `${repository}/blob/main/${path}${anchor}` }
}

/** A markdown-it plugin that applies `resolveLink()` to links. A link without a URL becomes its text and the path. */
export function linkPlugin(md, { pageOf, repository }) {
  md.core.ruler.push('repository-links', ({ tokens, env, Token }) => {
    const page = pageOf(env)
    for (const token of tokens) {
      if (token.type === 'inline') token.children = resolveLinks(token.children, page, repository, Token)
      for (const one of [token, ...(token.children ?? [])]) {
        if (page === README && one.type.startsWith('html_')) one.content = resolveImages(one.content)
      }
    }
  })
}

/** The README is part of a page in docs/site. */
const resolveImages = (html) => html.replaceAll(/(?<=\s)src="(?!https?:)/g, 'src="../../')

function resolveLinks(tokens, page, repository, Token) {
  const kept = []
  /** The path and the first kept token of the link that is open, if it has no URL. */
  let open
  for (const token of tokens) {
    if (token.type === 'link_open') {
      const { url, path } = resolveLink(token.attrGet('href'), page, repository)
      if (url === undefined) {
        open = { path, from: kept.length }
        continue
      }
      token.attrSet('href', url)
    }
    if (token.type === 'link_close' && open !== undefined) {
      const text = kept
        .slice(open.from)
        .map(({ content }) => content)
        .join('')
      if (open.path.startsWith(text)) kept.length = open.from
      else kept.push(textToken(Token, 'text', ' ('))
      kept.push(textToken(Token, 'code_inline', open.path))
      if (!open.path.startsWith(text)) kept.push(textToken(Token, 'text', ')'))
      open = undefined
      continue
    }
    kept.push(token)
  }
  return kept
}

function textToken(Token, type, content) {
  const token = new Token(type, type === 'code_inline' ? 'code' : '', 0)
  token.content = content
  return token
}
