import { loadProjectFile } from './project-file.ts'
import { parseServerOrigin } from './server.ts'

interface OverriddenProfile {
  env: NodeJS.ProcessEnv
  cwd: string
  /** The profile that the user's file selects. */
  profile: string
  /**
   * The server URL of the profile. Undefined if the profile has none, and for the profile `local`, whose URL is looked
   * up.
   */
  baseUrl: string | undefined
}

/**
 * Returns a sentence with the variable or file that overrides the saved profile, or null if there is none. Checks the
 * sources in the same order as {@link loadSettings}.
 */
export async function findProfileOverride({ env, cwd, profile, baseUrl }: OverriddenProfile): Promise<string | null> {
  const hasServer = profile === 'local' || baseUrl !== undefined
  const isOther = (url: string | undefined): url is string =>
    Boolean(url) &&
    hasServer &&
    (baseUrl === undefined || parseServerOrigin(String(url)) !== parseServerOrigin(baseUrl))
  const variable = (name: string, value: string) =>
    `${name} is set to ${value} and overrides the saved profile until you unset it.`
  if (isOther(env.GDN_BASE_URL)) return variable('GDN_BASE_URL', env.GDN_BASE_URL)
  if (env.GDN_PROFILE) return env.GDN_PROFILE === profile ? null : variable('GDN_PROFILE', env.GDN_PROFILE)
  const project = await loadProjectFile(cwd, env.HOME)
  const { base_url, profile: inProject = profile } = project?.config ?? {}
  const projectSetting = isOther(base_url)
    ? `base_url to ${base_url}`
    : inProject === profile
      ? null
      : `profile to ${inProject}`
  return projectSetting === null
    ? null
    : `${project?.path} sets ${projectSetting} and overrides the saved profile in this folder.`
}
