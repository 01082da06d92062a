/** What the backend's parts tell its log: an event's name and its facts, never a secret. pino's logger fits. */
export interface Log {
  debug(facts: object, message: string): void
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
}
