import { GdnError } from '../../core/errors.ts'
import { type FoundSection, searchHelp } from './search.ts'
import { isMistyped, suggestInHelp, unknownCommandError } from './suggest.ts'
import { HELP_TOPICS } from './topics.ts'

/**
 * Finds the sections for `gdn help <words>`.
 *
 * @returns `meant`: a question that suggests the command or topic that a single word resembles; null if there is none
 * @throws GdnError `usage` if no section matches, or if the words are a misspelled command
 */
export async function findHelp(
  words: readonly string[],
): Promise<{ sections: readonly FoundSection[]; meant: string | null }> {
  if (isMistyped(words)) throw unknownCommandError(words)
  const sections = await searchHelp(words)
  const [word = '', ...otherWords] = words
  const meant = otherWords.length === 0 ? suggestInHelp(word.toLowerCase()) : null
  if (sections.length > 0) return { sections, meant }
  throw new GdnError('usage', `no help found for "${words.join(' ')}"`, {
    hint:
      meant ??
      `The help topics are ${HELP_TOPICS.map(({ name }) => name).join(', ')}. Run \`gdn --help\` to list the commands.`,
  })
}
