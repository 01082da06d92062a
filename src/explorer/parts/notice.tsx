import type { ComponentChildren } from 'preact'
import type { ApiError } from '../api.ts'
import { Icon, type IconName } from './icon.tsx'

/** The notice that is shown if there is no content. */
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

/** The notice that is shown if loading fails. */
export function Failure({ error, what, retry }: { error: ApiError; what: string; retry: () => void }) {
  if (error.status === 404) {
    return (
      <Empty icon="search" title={`This ${what} does not exist`}>
        <p>
          {error.message} It may belong to another account or server. <a href="/">Go to the home page</a>
        </p>
      </Empty>
    )
  }
  return (
    <div role="alert">
      <Empty icon="alert" title={error.status === 0 ? 'The server does not respond' : 'Something went wrong'}>
        {error.status !== 0 && <p>{error.message}</p>}
        <button type="button" class="button" onClick={retry}>
          Try again
        </button>
      </Empty>
    </div>
  )
}

/** A placeholder for text that isn't loaded yet. It has about the width of the text. */
export const Skeleton = ({ width, height = '1em' }: { width: string; height?: string }) => (
  <span class="bone" style={{ width, height }} />
)

/** A list of names and values. */
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
