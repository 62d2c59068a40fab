import type { ModelViewerElement } from '@google/model-viewer';
import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

declare module 'preact' {
  namespace JSX {
    interface IntrinsicElements {
      'model-viewer': {
        children?: ComponentChildren;
        ref: RefObject<ModelViewerElement | null>;
        src: string;
        alt: string;
        poster: string | undefined;
        'camera-controls': boolean;
        'touch-action': string;
        'shadow-intensity': string;
        'interaction-prompt': string;
        ar: boolean;
      };
    }
  }
}

/** The GLB, to be turned with mouse, finger or arrow keys, and put into the room where the device can. */
export function Model({ glb, thumbnail }: { glb: string; thumbnail: string | undefined }) {
  const viewer = useRef<ModelViewerElement>(null);
  const [state, setState] = useState<'loading' | 'loaded' | 'failed'>('loading');
  useEffect(() => {
    const element = viewer.current;
    if (!element) return;
    const loaded = () => setState('loaded');
    const failed = () => setState('failed');
    element.addEventListener('load', loaded);
    element.addEventListener('error', failed);
    // Only here: it is fifteen times the rest of the dashboard.
    import('@google/model-viewer').catch(failed);
    return () => {
      element.removeEventListener('load', loaded);
      element.removeEventListener('error', failed);
    };
  }, []);
  return (
    <div class="model" data-state={state}>
      <model-viewer
        ref={viewer}
        src={glb}
        poster={thumbnail}
        alt="The model. Arrow keys turn it, plus and minus zoom."
        camera-controls
        touch-action="pan-y"
        shadow-intensity="0.6"
        interaction-prompt="none"
        ar
      >
        <button type="button" slot="ar-button" class="ar">
          View in your room
        </button>
      </model-viewer>
      {state === 'failed' && (
        <p role="alert" class="why">
          The model could not be shown here. Its file can be downloaded all the same.
        </p>
      )}
    </div>
  );
}
