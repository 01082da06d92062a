import { useEffect, useRef, useState } from 'preact/hooks'
import { Icon } from './icon.tsx'

const FEEDBACK_MS = 1600

/** Copies text by selecting it, because pages without HTTPS have no clipboard API. */
function copyBySelection(text: string): boolean {
  const field = document.createElement('textarea')
  field.value = text
  field.className = 'visually-hidden'
  field.setAttribute('aria-hidden', 'true')
  document.body.append(field)
  const before = document.activeElement
  field.select()
  try {
    return document.execCommand('copy')
  } finally {
    field.remove()
    if (before instanceof HTMLElement) before.focus()
  }
}

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copyBySelection(text)
  }
}

/** A button that copies `text`. Its label contains `what`. */
export function Copy({ text, what }: { text: string | (() => string); what: string }) {
  const [state, setState] = useState<'ready' | 'copied' | 'failed'>('ready')
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const onClick = async () => {
    setState((await copy(typeof text === 'string' ? text : text())) ? 'copied' : 'failed')
    clearTimeout(timer.current)
    timer.current = setTimeout(() => setState('ready'), FEEDBACK_MS)
  }
  const label = state === 'copied' ? 'Copied' : state === 'failed' ? 'Couldn’t copy' : `Copy ${what}`
  return (
    <button type="button" class={`copy ${state}`} onClick={onClick} aria-label={label} title={label}>
      <Icon name={state === 'copied' ? 'check' : state === 'failed' ? 'x' : 'copy'} size={15} />
      <span class="visually-hidden" role="status">
        {state === 'ready' ? '' : label}
      </span>
    </button>
  )
}
