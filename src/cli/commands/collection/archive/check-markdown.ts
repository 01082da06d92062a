import type { ArchiveFinding } from '../../../../archive/compare.ts'
import { count } from '../../../../core/count.ts'
import { shortenTo } from '../../../../core/shorten.ts'
import { safe } from '../../../io/io.ts'
import { escapeHtml } from '../../../sheet/html.ts'

/** Maximum number of characters in the text, below GitHub's limit of 65,536 characters per issue. */
const MAX_MARKDOWN_CHARACTERS = 60_000
const MAX_VALUE_CHARACTERS = 200

/**
 * Formats the findings of a check as the text of an issue. External text is inside `<code>` elements of an HTML block.
 * GitHub doesn't interpret Markdown, mentions, links or issue numbers there.
 */
export function checkMarkdown(contract: string, tokens: number, findings: readonly ArchiveFinding[]): string {
  const head = `<h3>Check of ${formatCode(contract)}</h3>\n\n${count(findings.length, 'problem')} in the files of ${count(tokens, 'token')}.\n`
  let rows = ''
  let shownCount = 0
  for (const { token_id, kind, field, url, error } of findings) {
    const cells = [
      token_id === null ? 'collection' : formatCode(token_id),
      kind,
      formatCode(field ?? ''),
      formatCode(url ?? ''),
      formatCode(error),
    ]
    const row = `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>\n`
    if (head.length + rows.length + row.length > MAX_MARKDOWN_CHARACTERS) break
    rows += row
    shownCount++
  }
  if (shownCount === 0) return head
  const columns = ['Token', 'Kind', 'Field', 'URL', 'Problem'].map((name) => `<th>${name}</th>`).join('')
  const table = `\n<table>\n<tr>${columns}</tr>\n${rows}</table>\n`
  const unlisted = findings.length - shownCount
  return (
    head +
    table +
    (unlisted === 0 ? '' : `\nNot shown: ${count(unlisted, 'more problem')}. \`-o ndjson\` prints all of them.\n`)
  )
}

const formatCode = (text: string): string => {
  const short = shortenTo(text, MAX_VALUE_CHARACTERS)
  return short === '' ? '' : `<code>${escapeHtml(safe(short))}</code>`
}
