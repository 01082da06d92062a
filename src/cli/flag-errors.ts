import { GdnError } from '../core/errors.ts'

export const requiredFlag = (flag: string, hint: string) =>
  new GdnError('usage', 'is required', { place: { flag }, hint })

export const noServerNamed = (flag: string, hint: string) =>
  new GdnError('usage', 'no server is specified', { place: { flag }, hint })

export const wrongAddress = (address: string, problem: string, flag: string) =>
  new GdnError('usage', `"${address}" ${problem}`, { place: { flag } })
