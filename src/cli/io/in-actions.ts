/** Returns whether this process runs in a step of GitHub Actions. */
export const isInActions = (env: NodeJS.ProcessEnv): boolean => env.GITHUB_ACTIONS === 'true'

/**
 * Escapes text that a GitHub runner would read as a command: `::name::` at the beginning of a line, even after spaces,
 * and the older `##[name]` anywhere. A title may contain such a line.
 */
export function withoutCommands(text: string): string {
  return text.replace(/^([^\S\n]*)::/gm, '$1:\\u003a').replaceAll('##[', '#\\u0023[')
}
