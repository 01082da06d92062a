import { useState } from 'preact/hooks'
import type { ExplorerSession } from '../../server/explorer/types.ts'
import { ApiError, post } from '../api.ts'
import { Icon } from '../parts/icon.tsx'
import { useTitle } from '../use-title.ts'

export function Login({ onLogin }: { onLogin: (session: ExplorerSession) => void }) {
  useTitle('Log in')
  const [key, setKey] = useState('')
  const [error, setError] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: Event) => {
    event.preventDefault()
    const given = key.trim()
    if (given === '') return setError('Enter an API key.')
    setBusy(true)
    try {
      const session = await post<ExplorerSession>('login', { api_key: given })
      setKey('')
      onLogin(session)
    } catch (cause) {
      setError(cause instanceof ApiError ? loginErrorText(cause) : String(cause))
      setBusy(false)
    }
  }
  return (
    <div class="login">
      <form class="panel" onSubmit={submit} noValidate>
        <span class="empty-icon">
          <Icon name="lock" size={24} />
        </span>
        <h1>Log in</h1>
        <p class="faint">Use an API key that can read NFTs. The web explorer shows the NFTs of the key’s account.</p>
        <label>
          API key
          <input
            type="password"
            name="api_key"
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            maxLength={500}
            value={key}
            aria-invalid={error !== null}
            aria-describedby={error === null ? undefined : 'login-error'}
            onInput={({ currentTarget }) => {
              setKey(currentTarget.value)
              setError(null)
            }}
          />
        </label>
        <p id="login-error" class="field-error" role="alert">
          {error}
        </p>
        <button type="submit" class="button primary" disabled={isBusy}>
          {isBusy ? 'Logging in…' : 'Log in'}
        </button>
      </form>
      <p class="faint">
        To create a key, run this command on the backend’s machine:
        <code>gdn key create</code>
      </p>
    </div>
  )
}

function loginErrorText({ status, message }: ApiError): string {
  if (status === 401) return 'This API key is not valid.'
  if (status === 403) return 'This API key can’t read NFTs: it needs the permission nft:read.'
  if (status === 429) return 'Too many attempts. Wait a moment, then try again.'
  return message
}
