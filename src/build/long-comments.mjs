import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from './run.mjs'

/** The line width of the formatter, which wraps code but not comments. */
const WIDTH = 120
const SOURCE = /\.(?:ts|tsx|mts|mjs|cjs|js|css)$/
const COMMENT = /^\s*(?:\/\/|\/\*|\*)/

/** Returns the place of each line of a comment that is longer than the formatter allows. */
export async function findLongComments(root) {
  const { output } = await run('git', ['ls-files', '-z', '-co', '--exclude-standard', '--deduplicate'], { cwd: root })
  const found = []
  for (const path of output.split('\0').filter((name) => SOURCE.test(name))) {
    const text = await readFile(join(root, path), 'utf8').catch(() => '')
    for (const [index, line] of text.split('\n').entries()) {
      if (line.length > WIDTH && COMMENT.test(line)) {
        found.push(`${path}:${index + 1}: the comment is longer than ${WIDTH} characters`)
      }
    }
  }
  return found
}
