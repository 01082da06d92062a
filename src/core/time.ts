import { hrtime } from 'node:process'

/** Returns the current time in milliseconds since the epoch. Injected where a test must set the clock. */
export type Now = () => number

/** A monotonic clock with a sleep function. Tests inject a clock with shorter waits. */
export interface Clock {
  /** Returns monotonic milliseconds. */
  steadyNow: Now
  /** Waits for a time. Rejects with the signal's reason if the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/**
 * Formats a time as `YYYY-MM-DD HH:MM:SS` in UTC. Every `accepted_date` has this form (API reference v1.1, Resources).
 */
export function formatUtcTime(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace('T', ' ')
}

/** Formats a time in ISO 8601; null if there is none. */
export function isoTime(ms: number): string
export function isoTime(ms: number | null | undefined): string | null
export function isoTime(ms: number | null | undefined): string | null {
  return ms == null ? null : new Date(ms).toISOString()
}

/** Resolves after `ms` milliseconds, or rejects with the signal's reason as soon as the signal is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', abort, { once: true })
  })
}

export const SYSTEM_CLOCK: Clock = { steadyNow: () => performance.now(), sleep }

/**
 * Converts a `Retry-After` header, which is a number of seconds or a date, to milliseconds. Returns null if its value
 * is missing or invalid.
 */
export function parseRetryAfter(header: string | undefined, wallClock: number): number | null {
  const value = header?.trim()
  if (value === undefined || value === '') return null
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? null : Math.max(0, date - wallClock)
}

/**
 * Returns the time since boot in milliseconds, from a monotonic clock that all processes of the machine share:
 * CLOCK_MONOTONIC on Linux, mach_absolute_time on macOS, the performance counter on Windows. Code that needs no shared
 * clock also uses this one, because loading `performance` takes a millisecond.
 */
export const bootClock = (): number => Number(hrtime.bigint()) / 1e6
