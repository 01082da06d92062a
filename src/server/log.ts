import { redactText } from '../core/redact.ts'
import { REDACTED } from '../core/secret.ts'
import { createWarningsLog } from './warnings-log.ts'

export type LogLevel = 'silent' | 'error' | 'warn' | 'info' | 'debug'

/**
 * The logger of the backend. A log line has a message and fields, and never contains a secret. pino's logger implements
 * this interface.
 */
export interface Log {
  debug(logFields: object, message: string): void
  info(logFields: object, message: string): void
  warn(logFields: object, message: string): void
  error(logFields: object, message: string): void
}

const SECRET_FIELDS = [
  'api_key',
  'apiKey',
  'x-api-key',
  'authorization',
  'private_key',
  'privateKey',
  'password',
  'signature',
]

const ignoreMessage = () => {}
const SILENT: Log = { debug: ignoreMessage, info: ignoreMessage, warn: ignoreMessage, error: ignoreMessage }

/**
 * Creates the backend's log: one line of JSON for each event, without secrets.
 *
 * @param warn prints warnings and errors for users if the level is `silent`
 */
export async function createLog(
  level: LogLevel,
  stream: { write(line: string): void },
  warn?: (line: string) => void,
): Promise<Log> {
  if (level === 'silent') return warn === undefined ? SILENT : createWarningsLog(warn)
  const { pino } = await import('pino')
  const log: Log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: SECRET_FIELDS.flatMap((name) => [`["${name}"]`, `*["${name}"]`]), censor: REDACTED },
    },
    { write: (line: string) => stream.write(redactText(line)) },
  )
  return log
}
