import { isBlockchain } from '../api/blockchains.ts'
import type { EndpointName } from '../api/endpoints.ts'
import { errorFormA, errorFormB } from '../api/errors.ts'
import { HEADERS, REFERENCE_ERRORS, SHUFFLE_ERRORS, VALUE_ERRORS } from '../api/headers.ts'
import { GdnError } from '../core/errors.ts'
import { parseJson } from '../core/json.ts'
import { redactText } from '../core/redact.ts'
import { badResponse, describeResponse, isNotNow, isNotReady, type ResponseDetails } from './responses.ts'
import type { TransportResponse } from './transport.ts'

/** Returns the error for a response whose status isn't 2xx. */
export function responseError(name: EndpointName | string, url: string, response: TransportResponse): GdnError {
  const said = readErrorForm(parseJson(response.body))
  const details: ResponseDetails = { status: response.status, ...said }
  const words = said === null ? describeResponse(response) : sentence(said)
  if (isNotReady(response)) {
    return new GdnError('not_ready', said?.message ?? words, {
      hint: 'Nothing was accepted. Fund the signer or set up the network, as the error describes. Then repeat the request.',
      details,
    })
  }
  if (isNotNow(response)) {
    return new GdnError('unreachable', `the server is temporarily unavailable: ${words}`, {
      hint: 'Try again later.',
      details,
    })
  }
  if (response.headers[HEADERS.errorCode] === REFERENCE_ERRORS.conflict) {
    return new GdnError('refused', words, {
      hint: 'Nothing was created. Use another ID, or send the content that belongs to this ID.',
      details,
    })
  }
  if (response.headers[HEADERS.errorCode] === SHUFFLE_ERRORS.notFinal) {
    return new GdnError('refused', words, {
      hint: 'Nothing was sent to the chain. Run the command again later.',
      details: { ...details, code: SHUFFLE_ERRORS.notFinal },
    })
  }
  if (response.headers[HEADERS.errorCode] === VALUE_ERRORS.hasValue) {
    return new GdnError('not_confirmed', words, {
      hint: 'Run the same command again for the blockchain that the message names, or add --yes to confirm the cost.',
      details,
    })
  }
  switch (response.status) {
    case 401:
      return new GdnError('unauthorized', `the server requires a valid API key: ${words}`, {
        hint: `Set GDN_API_KEY, or run \`gdn auth login --base-url ${new URL(url).origin}\`.`,
        details,
      })
    case 403:
      return new GdnError('forbidden', `the API key is not permitted to use ${name}: ${words}`, {
        hint: 'Check the permissions of the key, or use another key.',
        details,
      })
    case 429:
      return new GdnError('rate_limited', `the server's rate limit was reached: ${words}`, {
        hint: 'Wait and try again, or set a lower --rate.',
        details,
      })
    default:
      return said !== null && response.status >= 400 && response.status < 500
        ? new GdnError('refused', words, { hint: refusalHint(words), details })
        : badResponse(url, response)
  }
}

/** Returns a hint for an error about a collection, or undefined if there is none. */
function refusalHint(words: string): string | undefined {
  if (words.includes('enable_transfer')) {
    return 'The owner of the collection can permit transfers. Run `gdn collection set <contract_address> --enable-transfer --wallet <owner>`.'
  }
  if (words.endsWith('is not a collection of this account')) {
    return 'Use an API key of the account that created the collection. Run `gdn auth status` to show the key in use.'
  }
  const blockchain = /that collection is on ([\w-]+)$/.exec(words)?.[1]
  return blockchain !== undefined && isBlockchain(blockchain) ? `Add -b ${blockchain}.` : undefined
}

/** Maximum number of problems in an error, because a response can have megabytes. gdn backends return at most 50. */
const MAX_FAULTS = 100
const MAX_TEXT = 10_000

/** Truncates a text. Redacts it first, because half of a secret would not be recognized. */
const cut = (text: string): string =>
  text.length <= MAX_TEXT ? text : `${redactText(text).slice(0, MAX_TEXT).toWellFormed()}…`

type Said = { title: string; message: string; faults?: { field: string; message: string }[] }

function readErrorForm(json: unknown): Said | null {
  const formA = errorFormA.safeParse(json)
  if (formA.success) return { title: cut(formA.data.error.title), message: cut(formA.data.error.message) }
  const formB = errorFormB.safeParse(json)
  if (!formB.success) return null
  const { errorCode, message, detail } = formB.data
  const faults = detail
    .slice(0, MAX_FAULTS)
    .map(({ loc, msg }) => ({ field: cut(loc.slice(1).join('.')), message: cut(msg) }))
  return { title: cut(errorCode), message: cut(message), faults }
}

function sentence({ title, message, faults }: Said): string {
  const listed = (faults ?? []).map((fault) => (fault.field === '' ? fault.message : `${fault.field} ${fault.message}`))
  return cut([message === '' ? title : `${title}: ${message}`, ...listed].join('; '))
}
