import { styleText } from 'node:util'
import inquirer from 'inquirer'
import { GdnError } from '../../core/errors.ts'
import { terminalText } from '../../core/terminal-text.ts'
import { sleep } from '../../core/time.ts'
import { wrap } from '../text/wrap.ts'
import type { OutStream } from './out-stream.ts'
import type { Prompts, TextQuestion } from './questions.ts'

type Prompt = (questions: readonly object[]) => Promise<{ answer: unknown }>

/**
 * Returns the prompts, implemented with inquirer.
 *
 * @param output the terminal for the prompts
 * @param signal ends an open prompt when it is aborted; the prompt then throws its reason
 */
export function createPrompts(output: OutStream, signal: AbortSignal): Prompts {
  const stream = output as NodeJS.WriteStream

  async function answer<Value>(question: object): Promise<Value> {
    const closed = new AbortController()
    // Ctrl-D closes the input. Without this handler, inquirer would never settle, and the process could end during a
    // prompt.
    const close = () => closed.abort()
    process.stdin.once('pause', close)
    signal.addEventListener('abort', close)
    const prompt = inquirer.createPromptModule({ output: stream, signal: closed.signal }) as unknown as Prompt
    try {
      return (await prompt([{ ...question, name: 'answer' }])).answer as Value
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof Error && CANCELED_ERROR_NAMES.has(error.name)) throw canceledError()
      throw error
    } finally {
      process.stdin.off('pause', close)
      signal.removeEventListener('abort', close)
    }
  }

  const whether: Prompts['whether'] = ({ message, default: usual }) =>
    answer({ type: 'confirm', message: wrapQuestion(message, stream.columns), default: usual })

  return {
    async ask(question) {
      await discardTypedAhead(process.stdin)
      return await whether({ message: question, default: false })
    },
    whether,
    text: ({ message, default: usual, check }) =>
      answer({
        type: 'input',
        message: wrapQuestion(message, stream.columns),
        default: usual && terminalText(usual),
        validate: check && wrapErrors(check, stream.columns),
      }),
    async secret({ message, check }) {
      // inquirer would keep rejected input in the hidden field, where the user can't see it. So use a new prompt for
      // each attempt.
      for (let problem: string | undefined; ; ) {
        const theme = { prefix: {}, style: { help: (text: string) => text, maskedText: hiddenFieldText(problem) } }
        problem = undefined
        const typed = await answer<string>({
          type: 'password',
          message: wrapQuestion(message, stream.columns),
          mask: false,
          // Never show typed input, because a screen recording could contain it.
          toggleMask: false,
          theme,
          async validate(attempt: string) {
            const wrong = check === undefined || (await wrapErrors(check, stream.columns)(attempt))
            if (wrong !== true) {
              problem = wrong
              theme.prefix = { done: styleText('red', '✖') }
            }
            return true
          },
        })
        if (problem === undefined) return typed
      }
    },
    choose: ({ message, choices, default: usual }) => {
      const shownChoices = choices.map(({ name, value, description }) => ({
        name: terminalText(name),
        value,
        description: description && terminalText(description),
      }))
      return answer({
        type: 'search',
        message: terminalText(message),
        ...(usual === undefined ? {} : { default: usual }),
        source: (typed: string | undefined) => filterChoices(shownChoices, typed ?? ''),
      })
    },
  }
}

const CANCELED_ERROR_NAMES: ReadonlySet<string> = new Set(['ExitPromptError', 'AbortPromptError'])

const canceledError = () => new GdnError('not_confirmed', 'the prompt was canceled')

/** Time to wait for keys that were typed before a question, in milliseconds. */
const TYPED_AHEAD_MS = 50
const CTRL_C = '\u0003'

/**
 * Discards keys that were typed before a question appears, so that they don't answer the question. inquirer itself
 * discards only input that arrives within one turn of the event loop.
 *
 * @throws GdnError `not_confirmed` if Ctrl-C is among the keys
 */
async function discardTypedAhead(input: NodeJS.ReadStream): Promise<void> {
  if (!input.isTTY) return
  let typed = ''
  const note = (keys: Buffer | string) => {
    typed += keys
  }
  input.setRawMode(true)
  input.on('data', note)
  await sleep(TYPED_AHEAD_MS)
  // Keep the input flowing in raw mode, because some terminals deliver no keys after a pause before the prompt.
  input.off('data', note)
  if (!typed.includes(CTRL_C)) return
  input.pause()
  input.setRawMode(false)
  throw canceledError()
}

/** Returns the text to show in a hidden field: a placeholder, and the problem with the last attempt. */
function hiddenFieldText(problem: string | undefined): string {
  const field = styleText('dim', '(hidden)')
  return problem === undefined ? field : `${field}\n${styleText('red', `> ${problem}`)}`
}

/** Width of ` (y/N) Yes`. Other prompts reserve this width for the beginning of the answer. */
const RESERVED_ANSWER_COLUMNS = 10

/**
 * Escapes a question and wraps it at spaces, because inquirer wraps within words. Leaves room for the answer on the
 * last line. Indents further lines by the width of inquirer's `? ` prefix.
 */
export function wrapQuestion(question: string, columns: number | undefined): string {
  const answer = '\u00a0'.repeat(RESERVED_ANSWER_COLUMNS)
  const lines = wrap(terminalText(question) + answer, Math.max(20, (columns || 80) - 2))
  return lines.join('\n  ').slice(0, -RESERVED_ANSWER_COLUMNS)
}

/** Wraps the error messages of a check at spaces. Indents further lines by the width of inquirer's `> ` prefix. */
export function wrapErrors(check: NonNullable<TextQuestion['check']>, columns: number | undefined): typeof check {
  return async (answer) => {
    const wrong = await check(answer)
    return typeof wrong === 'string' ? wrap(wrong, Math.max(20, (columns || 80) - 2)).join('\n  ') : wrong
  }
}

/** Returns the choices that contain every typed word, starting with those that begin with the first word. */
export function filterChoices<Of extends { name: string; description?: string | undefined }>(
  all: readonly Of[],
  typed: string,
): Of[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  const searchText = ({ name, description = '' }: Of) => `${name} ${description}`.toLowerCase()
  const fitting = all.filter((choice) => words.every((word) => searchText(choice).includes(word)))
  const [first = ''] = words
  const begins = (choice: Of) => searchText(choice).startsWith(first)
  return [...fitting.filter(begins), ...fitting.filter((choice) => !begins(choice))]
}
