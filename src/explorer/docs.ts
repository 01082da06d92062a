// The script of /docs. It extends the published Swagger UI for this API.

const WALLET_PATH = '/v1/wallet/create'
const SIGNED_URL_PATH = '/api/v1/getpresignedurl'
const MAX_OPEN_WAIT_MS = 3000
const KEY_HEADER = ['headers', 'x-api-key']

/** The subset of React that is used here. React is part of Swagger UI. */
interface React {
  createElement(type: unknown, props: object | null, ...children: unknown[]): unknown
  useState<Value>(first: Value): [Value, (next: Value) => void]
}

/** The subset of Swagger UI that is used here. */
interface System {
  React: React
  specActions: { changeParam(place: readonly [string, string], name: string, where: string, value: string): void }
  layoutActions: { show(place: readonly string[], isShown: boolean): void }
}

type ComponentWrapper<Props> = (original: unknown, system: System) => (props: Props) => unknown

interface Request {
  hasIn(path: readonly string[]): boolean
  setIn(path: readonly string[], value: string): Request
}

declare const SwaggerUIBundle: (options: object) => unknown

/** Replaces the key in the copyable command with a placeholder, because other people may see the screen. */
const hideApiKey: ComponentWrapper<{ request: Request }> =
  (original, { React }) =>
  (props) => {
    const request = props.request.hasIn(KEY_HEADER) ? props.request.setIn(KEY_HEADER, 'YOUR_API_KEY') : props.request
    return React.createElement(original, { ...props, request })
  }

/** Turns off autofill and spell checking for the key field, and masks the key. */
const secretInput: ComponentWrapper<{ id?: string }> =
  (original, { React }) =>
  (props) =>
    React.createElement(
      original,
      props.id === 'api_key_value' ? { ...props, autoComplete: 'off', spellCheck: false, className: 'secret' } : props,
    )

interface BodyProps {
  content: unknown
  url?: string
}

const parsePath = (url: string | undefined) => new URL(url ?? '', location.href).pathname

/** Returns the signed URL in a response; null if there is none. */
function parseSignedUrl(content: unknown): URL | null {
  try {
    const { response } = JSON.parse(String(content)) as { response: { url: string } }
    return new URL(response.url)
  } catch {
    return null
  }
}

/** Renders the body of a response. Shows a private key only when the user requests it. */
const guardedBody: ComponentWrapper<BodyProps> = (original, system) => {
  const { React } = system
  const { createElement } = React
  return (props) => {
    const [isShown, setShown] = React.useState(false)
    const path = parsePath(props.url)
    const body = createElement(original, { ...props, key: 'body' })
    if (path === WALLET_PATH && String(props.content).includes('private_key')) {
      const text =
        'A wallet was created. Its private key is only in this response, and anyone who sees it on this screen can take the wallet’s assets. For a wallet that holds valuable assets, use gdn wallet generate, which stores the key encrypted in a file.'
      const show = createElement(
        'button',
        { key: 'show', type: 'button', className: 'btn', onClick: () => setShown(true) },
        'Show the private key',
      )
      const warning = createElement('p', { key: 'words', className: 'warning', role: 'alert' }, text)
      return createElement('div', null, warning, isShown ? body : show)
    }
    const signed = path === SIGNED_URL_PATH ? parseSignedUrl(props.content) : null
    if (signed === null) return body
    const next = createElement(
      'button',
      { key: 'next', type: 'button', className: 'btn next-step', onClick: () => fillInParameters(signed, system) },
      'Continue to the second step',
    )
    return createElement('div', null, body, next)
  }
}

/** Opens the wallet endpoint and fills in the parameters from a signed URL. */
function fillInParameters(signed: URL, { specActions, layoutActions }: System): void {
  for (const [name, value] of signed.searchParams) {
    specActions.changeParam([WALLET_PATH, 'post'], name, 'query', value)
  }
  layoutActions.show(['operations', 'Wallets', 'generateWallet'], true)
  showWalletStep(performance.now() + MAX_OPEN_WAIT_MS)
}

/** Enables the form as soon as it is rendered, and scrolls to it. */
function showWalletStep(end: number): void {
  const operation = document.getElementById('operations-Wallets-generateWallet')
  const tryOut = operation?.querySelector<HTMLElement>('.try-out__btn')
  if (operation == null || tryOut == null) {
    if (performance.now() < end) requestAnimationFrame(() => showWalletStep(end))
    return
  }
  if (!tryOut.classList.contains('cancel')) tryOut.click()
  operation.scrollIntoView({ block: 'start' })
  operation.querySelector<HTMLElement>('.opblock-summary-control')?.focus({ preventScroll: true })
}

const darkModeQuery = matchMedia('(prefers-color-scheme: dark)')
function applyTheme(): void {
  const { theme } = document.documentElement.dataset
  document.documentElement.classList.toggle('dark-mode', theme === undefined ? darkModeQuery.matches : theme === 'dark')
}
darkModeQuery.addEventListener('change', applyTheme)
applyTheme()

SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: -1,
  defaultModelExpandDepth: 3,
  displayRequestDuration: true,
  showExtensions: false,
  validatorUrl: null,
  // Forget the entered key when the user leaves the page.
  persistAuthorization: false,
  plugins: [
    {
      wrapComponents: {
        RequestSnippets: hideApiKey,
        curl: hideApiKey,
        Input: secretInput,
        responseBody: guardedBody,
      },
    },
  ],
})

export {}
