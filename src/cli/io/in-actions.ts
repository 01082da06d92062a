/** Whether this runs as a step of GitHub Actions. */
export const isInActions = (env: NodeJS.ProcessEnv): boolean => env.GITHUB_ACTIONS === 'true'

/**
 * Text for people with nothing in it that a runner of GitHub takes for a command: `::name::` at the beginning of a
 * line, spaces or not, and the older `##[name]` anywhere. A title may hold such a line.
 */
export function withoutCommands(text: string): string {
  return text.replace(/^([^\S\n]*)::/gm, '$1:\\u003a').replaceAll('##[', '#\\u0023[')
}
