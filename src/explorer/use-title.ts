import { useEffect } from 'preact/hooks'
import { shortened } from './format.ts'

/** Sets the title of the page, which tabs show and screen readers announce. */
export function useTitle(title: string | undefined): void {
  useEffect(() => {
    document.title = title === undefined || title === '' ? 'gdn explorer' : `${shortened(title, 60, 8)} · gdn explorer`
  }, [title])
}
