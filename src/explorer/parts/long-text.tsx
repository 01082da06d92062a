import { useState } from 'preact/hooks'

const FIRST_LENGTH = 600
const NEXT_LENGTH = 20_000

/** Text of any length and script, including line breaks. The user can expand long text. */
export function LongText({ text, class: name }: { text: string; class?: string }) {
  const [shown, setShown] = useState(FIRST_LENGTH)
  const isCut = text.length > shown + 100
  return (
    <div class={`long-text ${name ?? ''}`}>
      <p dir="auto">{isCut ? `${text.slice(0, shown)}…` : text}</p>
      {isCut && (
        <button type="button" class="link" onClick={() => setShown(shown + NEXT_LENGTH)}>
          Show more
        </button>
      )}
    </div>
  )
}
