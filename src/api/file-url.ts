import { parseUrl } from '../core/parse-url.ts'

const ACCEPTED_IPFS_URL = /^ipfs:\/\/(Qm[1-9A-HJ-NP-Za-km-z]{44}|b[a-z2-7]{40,120})(\/[^\s\p{C}]*)?$/u
const ARWEAVE_URL = /^ar:\/\/[\w-]{43}(\/[^\s\p{C}]*)?$/u
const MAX_URL_LENGTH = 2048

const WEB_URL = /^[hH][tT]{2}[pP][sS]?:\/\/[^\s\\]+$/

/** The forms of file URLs, as far as JSON Schema can express them: regular expressions without ^ and $. */
export const FILE_URL_FORMS = [ACCEPTED_IPFS_URL, ARWEAVE_URL, WEB_URL].map(({ source }) => source.slice(1, -1))

/**
 * Returns why the form of a file URL is invalid (API reference v1.1, file_fields); null if it is valid. Only a fetch
 * shows whether the content is usable.
 */
export function fileUrlProblem(url: string): string | null {
  if (url === '') return 'is empty: use an http(s), ipfs or ar URL'
  if (url.length > MAX_URL_LENGTH) return `is longer than ${MAX_URL_LENGTH} characters`
  if (/^(?:ipfs|ar):.*\/\.\.?(?:\/|$)/is.test(url)) return 'has . or .. in its path'
  if (/^ipfs:/i.test(url))
    return ACCEPTED_IPFS_URL.test(url) ? null : 'is not an ipfs URL: ipfs:// must be followed by a CID'
  if (/^ar:/i.test(url))
    return ARWEAVE_URL.test(url) ? null : 'is not an ar URL: ar:// must be followed by a transaction ID'
  if (!/^https?:\/\//i.test(url)) return 'must be an http(s), ipfs or ar URL'
  if (/[\s\\]/.test(url)) return 'has whitespace or a backslash, which must be encoded'
  const parsed = parseUrl(url)
  if (parsed === null || parsed.hostname === '') return 'is not a URL'
  if (parsed.username !== '' || parsed.password !== '') return 'has a user name or password, which would become public'
  return null
}
