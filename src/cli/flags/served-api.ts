import { API_VERSIONS, type ApiVersion } from '../../api/versions.ts'
import type { GdnCommand } from '../command.ts'
import { oneOf } from './common.ts'

/** Flags that configure a backend's API, for commands that start a backend. */
export interface ServedApiFlags {
  rateLimits?: 'on' | 'off'
  apiVersion?: ApiVersion
}

export function addServedApiFlags(command: GdnCommand): void {
  command.valueFlag('--rate-limits <on|off>', 'Rate limits of the API (on)', oneOf(['on', 'off']))
  command.valueFlag('--api-version <version>', 'API version for keys that have no version (1.1)', oneOf(API_VERSIONS))
}

export const servedApiOptions = ({ rateLimits, apiVersion }: ServedApiFlags) => ({
  rateLimits: rateLimits !== 'off',
  apiVersion,
})

/** Returns the flags as arguments for `gdn serve`. */
export const servedApiArgs = ({ rateLimits, apiVersion }: ServedApiFlags): string[] => [
  ...(rateLimits === undefined ? [] : ['--rate-limits', rateLimits]),
  ...(apiVersion === undefined ? [] : ['--api-version', apiVersion]),
]
