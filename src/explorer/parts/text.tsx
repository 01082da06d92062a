import { useEffect, useState } from 'preact/hooks'
import { ago, blockchainName, digits, moment, shortenMiddle, visibleTitle, webAddress } from '../format.ts'
import { pathTo } from '../routes.ts'
import { Copy } from './copy.tsx'
import { Icon } from './icon.tsx'

/** An unmodified title, isolated from the direction of the surrounding text. */
export function Title({ text }: { text: string }) {
  return visibleTitle(text) === null ? <span class="faint">Untitled</span> : <bdi>{text}</bdi>
}

/** An ID, hash, CID or address: its first and last characters, the full text as a tooltip, and a copy button. */
export function Id({
  text,
  what,
  href,
  head = 6,
  tail = 4,
}: {
  text: string
  what: string
  href?: string | undefined
  head?: number
  tail?: number
}) {
  const shown = shortenMiddle(text, head, tail)
  return (
    <span class="id">
      {href === undefined ? (
        <span class="mono" title={text}>
          {shown}
        </span>
      ) : (
        <a class="mono" href={href} title={text}>
          {shown}
        </a>
      )}
      <Copy text={text} what={what} />
    </span>
  )
}

export const Owner = ({ address }: { address: string }) => (
  <Id text={address} what="address" href={pathTo.owner(address)} />
)

/** A link to another server, without a referrer. Renders nothing if the URL isn't an http(s) URL. */
export function ExternalLink({
  href,
  children,
  icon = false,
}: {
  href: string | null
  children: string
  icon?: boolean
}) {
  const address = webAddress(href)
  if (address === null) return null
  return (
    <a class="outside" href={address} target="_blank" rel="noopener noreferrer external" title={children}>
      <span class={icon ? 'visually-hidden' : ''}>{children}</span>
      <Icon name="external" size={14} />
    </a>
  )
}

const tickListeners = new Set<() => void>()
setInterval(() => {
  for (const tick of tickListeners) tick()
}, 15_000)

/** A relative time. */
export function Ago({ time }: { time: string }) {
  const [, draw] = useState(0)
  useEffect(() => {
    const tick = () => draw((n) => n + 1)
    tickListeners.add(tick)
    return () => tickListeners.delete(tick)
  }, [])
  return (
    <time dateTime={time} title={moment(time)}>
      {ago(time, Date.now())}
    </time>
  )
}

export const Gas = ({ amount }: { amount: string }) => <span class="number">{digits(amount)}</span>

export const Chain = ({ name }: { name: string }) => <span class="chip">{blockchainName(name)}</span>
