import { maskAmounts } from '../core/mask-amounts.ts'
import { redactText } from '../core/redact.ts'
import { shorten } from '../core/shorten.ts'
import { terminalText } from '../core/terminal-text.ts'

const MAX_SUBJECTS = 100
const MAX_LINE_LENGTH = 1000
/** Time in milliseconds after which a line is printed again for an unchanged state. */
const REPEAT_AFTER_MS = 10 * 60_000

const ignoreMessage = (_facts: object, _message: string) => {}

/** Matches warnings that `gdn serve` prints during startup, or that the user requested. */
const EXPECTED_WARNINGS = new Set(['other machines can reach this server', 'fault injection is on', 'injected a fault'])

/** The fields of an event that are printed. */
interface LogFacts {
  blockchain?: unknown
  step?: unknown
  reason?: unknown
  error?: unknown
  why?: unknown
}

const stringOrNull = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

/**
 * Creates a log for users. The log prints one line for each warning and error, without secrets or terminal escape
 * sequences. A warning is repeated if the state of its subject, such as a network, has changed, or after 10 minutes. A
 * reason that was printed for another subject isn't repeated.
 */
export function createWarningsLog(print: (line: string) => void, now: () => number = Date.now) {
  const states = new Map<string, { state: string; at: number }>()
  const isKnown = (subject: string, state: string, isReason: boolean): boolean => {
    const recent = (logged?: { state: string; at: number }) =>
      logged?.state === state && now() - logged.at < REPEAT_AFTER_MS
    return recent(states.get(subject)) || (isReason && [...states.values()].some(recent))
  }
  const warn = (facts: LogFacts, message: string): void => {
    if (EXPECTED_WARNINGS.has(message)) return
    const blockchain = stringOrNull(facts.blockchain)
    const reason = stringOrNull(facts.reason) ?? stringOrNull(facts.error) ?? stringOrNull(facts.why)
    const subject = blockchain ?? stringOrNull(facts.step) ?? message
    const state = maskAmounts(reason ?? message)
    if (isKnown(subject, state, reason !== null)) return
    if (states.size >= MAX_SUBJECTS) states.clear()
    states.set(subject, { state, at: now() })
    const line = [blockchain, message, reason].filter((part) => part !== null).join(': ')
    print(shorten(terminalText(redactText(line)), MAX_LINE_LENGTH))
  }
  return { debug: ignoreMessage, info: ignoreMessage, warn, error: warn }
}
