import type { ComponentChildren } from 'preact'
import type { ApiError } from '../api.ts'
import { Icon, type IconName } from './icon.tsx'

/** What stands where there is nothing to show. */
export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <span class="empty-icon">
        <Icon name={icon} size={26} />
      </span>
      <h2>{title}</h2>
      {children !== undefined && <div class="empty-text">{children}</div>}
    </div>
  )
}

/** What stands where something couldn't be read. */
export function Failure({ error, what, retry }: { error: ApiError; what: string; retry: () => void }) {
  if (error.status === 404) {
    return (
      <Empty icon="search" title={`There is no such ${what} here`}>
        <p>
          {error.message} It may be of another account, or of another server. <a href="/">See what is here</a>
        </p>
      </Empty>
    )
  }
  return (
    <div role="alert">
      <Empty icon="alert" title={error.status === 0 ? 'The server gives no answer' : 'That didn’t work'}>
        {error.status !== 0 && <p>{error.message}</p>}
        <button type="button" class="button" onClick={retry}>
          Try again
        </button>
      </Empty>
    </div>
  )
}

/** Stands for words that are still to come, as wide as they may be. */
export const Bone = ({ width, height = '1em' }: { width: string; height?: string }) => (
  <span class="bone" style={{ width, height }} />
)

/** A list of names and values; what is null is left out. */
export function Facts({ children }: { children: ComponentChildren }) {
  return <dl class="facts">{children}</dl>
}

export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
