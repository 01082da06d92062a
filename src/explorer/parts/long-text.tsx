import { useState } from 'preact/hooks'

const SHOWN = 600
const MORE = 20_000

/** Text of any length and script, including line breaks. The user can expand long text. */
export function LongText({ text, class: name }: { text: string; class?: string }) {
  const [shown, setShown] = useState(SHOWN)
  const isCut = text.length > shown + 100
  return (
    <div class={`long-text ${name ?? ''}`}>
      <p dir="auto">{isCut ? `${text.slice(0, shown)}…` : text}</p>
      {isCut && (
        <button type="button" class="link" onClick={() => setShown(shown + MORE)}>
          Show more
        </button>
      )}
    </div>
  )
}
