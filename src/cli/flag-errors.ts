import { GdnError } from '../core/errors.ts'

export const requiredFlag = (flag: string, hint: string) =>
  new GdnError('usage', 'is required', { place: { flag }, hint })

export const noServerNamed = (flag: string, hint: string) =>
  new GdnError('usage', 'no server is specified', { place: { flag }, hint })

export const wrongAddress = (address: string, problem: string, flag: string) =>
  new GdnError('usage', `"${address}" ${problem}`, { place: { flag } })

/** Returns the error for `-c=0x…`, where the value of a short flag begins with an equals sign. */
export const equalsAfterShort = (short: string, long: string, raw: string) =>
  new GdnError('usage', `the value "${raw}" begins with "="`, {
    place: { flag: short },
    hint: `Use ${short} ${raw.slice(1)} or ${long}=${raw.slice(1)}.`,
  })
