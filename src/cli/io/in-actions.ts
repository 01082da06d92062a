/** Returns whether this process runs in a GitHub Actions step. */
export const isInActions = (env: NodeJS.ProcessEnv): boolean => env.GITHUB_ACTIONS === 'true'

/**
 * Escapes text that a GitHub Actions runner would execute as a command: `::name::` at the beginning of a line (even
 * after spaces) and the older `##[name]` anywhere. External text, such as a title, can contain such commands.
 */
export function escapeWorkflowCommands(text: string): string {
  return text.replace(/^([^\S\n]*)::/gm, '$1:\\u003a').replaceAll('##[', '#\\u0023[')
}
