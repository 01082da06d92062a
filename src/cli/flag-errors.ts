import { flagError, GdnError } from '../core/errors.ts'
import { withoutKey } from '../core/quoted.ts'

export const requiredFlag = (flag: string, hint: string) => flagError(flag, 'is required', hint)

export const cannotPrompt = (flag: string, hint: string) =>
  flagError(flag, 'is required, because gdn cannot prompt here', hint)

export const noCollection = (flag: string, hint: string) => flagError(flag, 'no collection is specified', hint)

export const noServerNamed = (flag: string, hint: string) => flagError(flag, 'no server is specified', hint)

export const wrongAddress = (address: string, problem: string, flag: string) =>
  new GdnError('usage', `"${withoutKey(address)}" ${problem}`, { place: { flag } })

/** Creates the error for `-c=0x…`, where the value of a short flag starts with an equals sign. */
export const equalsAfterShort = (short: string, long: string, raw: string) =>
  flagError(short, `the value "${raw}" begins with "="`, `Use ${short} ${raw.slice(1)} or ${long}=${raw.slice(1)}.`)
