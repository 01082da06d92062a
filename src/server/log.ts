import pino, { type Logger } from 'pino'

export type LogLevel = 'silent' | 'error' | 'warn' | 'info' | 'debug'

const NAMES = ['api_key', 'apiKey', 'x-api-key', 'authorization', 'private_key', 'privateKey', 'password', 'signature']

const REDACTED = '[redacted]'

/** API keys of ours, and parameters of signed URLs, wherever a message or a reason quotes them. */
const KEY = /gdn_[A-Za-z0-9_-]{20,}/g
const SIGNED = /([?&](?:[a-z-]*signature|sig|token|[a-z-]*credential|[a-z-]*security-token|key)=)[^&"\s\\]+/gi

const scrub = (line: string): string => line.replace(KEY, REDACTED).replace(SIGNED, `$1${REDACTED}`)

/** The backend's log: a line of JSON for each event, without any secret. */
export function createLog(level: LogLevel, stream: { write(line: string): void }): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: NAMES.flatMap((name) => [`["${name}"]`, `*["${name}"]`]), censor: REDACTED },
    },
    { write: (line: string) => stream.write(scrub(line)) },
  )
}
