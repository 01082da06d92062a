import { MAX_SIGNED_URL_MINUTES } from '../../../api/endpoints/getpresignedurl.ts'
import { GdnError } from '../../../core/errors.ts'
import type { Parse } from '../../command.ts'

const MINUTES: Readonly<Record<string, number>> = { m: 1, h: 60, d: 1440 }

/** `15m`, `24h`, `7d`, in minutes, as the API counts. */
export const validFor: Parse<number> = Object.assign(
  (raw: string, flag: string) => {
    const [, count = '', unit = ''] = /^([1-9][0-9]{0,5})([mhd])$/.exec(raw) ?? []
    const minutes = Number(count) * (MINUTES[unit] ?? 0)
    if (minutes >= 1 && minutes <= MAX_SIGNED_URL_MINUTES) return minutes
    const shown = JSON.stringify(raw.length > 60 ? `${raw.slice(0, 60)}…` : raw)
    throw new GdnError('usage', `must be a time such as 15m, 24h or 7d, at most 7d, not ${shown}`, { place: { flag } })
  },
  { takes: { type: 'duration' } as const },
)
