import type { ErrorCode } from '../../core/errors.ts'

/** URL of the documentation site, without a trailing slash. Empty until the site has a URL. */
export const SITE: string = ''

/** The page in `docs/` that explains every error code. */
export const ERRORS_PAGE = 'errors.md'

/** Errors whose message and hint already explain the fix, so that a link to their section would add nothing. */
const SELF_EXPLANATORY_CODES: readonly ErrorCode[] = [
  'unexpected',
  'usage',
  'invalid_input',
  'invalid_manifest',
  'invalid_config',
  'file_error',
  'not_found',
  'not_found_locally',
  'not_confirmed',
  'interrupted',
  'terminated',
  'timed_out',
  'refused',
  'data_dir',
  'data_dir_busy',
  'port_in_use',
  'idempotency_key_reused',
  'run_finished',
  'art_impossible',
  'art_deviates',
  'art_undecided',
]

/** Returns the URL of a section on the site; null if the site has no URL yet. */
export function sectionUrl(page: string, anchor: string, site = SITE): string | null {
  if (site === '') return null
  return `${site}/${page.replace(/(?:(^|\/)README)?\.md$/, (_, folder) => folder ?? '.html')}${anchor === '' ? '' : `#${anchor}`}`
}

/** Returns the URL or command that explains an error. Returns null for errors that explain their fix. */
export function findExplanation(code: ErrorCode, site = SITE): string | null {
  return SELF_EXPLANATORY_CODES.includes(code) ? null : (sectionUrl(ERRORS_PAGE, code, site) ?? `gdn help ${code}`)
}
