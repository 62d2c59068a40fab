import { type PhotoSide, photoSides } from '@gen3d/schema/rules';
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useObjectUrl } from '../photos/object-url.js';
import { arranged, type ObjectPhotos, oneEach, photoTypes, type SidePhotos, sideNames } from '../photos/sides.js';
import { Button, Select } from './buttons.js';

/** How far a camera at the front is turned around the object, seen from above. Left is the photographer's left. */
const turns: Record<PhotoSide, number> = { front: 0, left: 90, back: 180, right: 270 };

/** Draws where to stand, from above: the object, whose front is marked, and the camera. */
const StandingPlace = ({ side }: { side: PhotoSide }) => (
  <svg class="standing-place" viewBox="0 0 48 48" aria-hidden="true">
    <rect x="16" y="16" width="16" height="16" rx="4" />
    <path class="front-mark" d="M18 32h12" />
    <path class="camera" d="M24 38l5 8h-10z" transform={`rotate(${turns[side]} 24 24)`} />
  </svg>
);

/** A place for the photo of a side: shows it and moves it to another side, or asks for a file. */
function Place(props: {
  side: PhotoSide;
  photo: File | undefined;
  onAdd: (photo: File) => void;
  onMove: (side: PhotoSide | 'none') => void;
}) {
  const { side, photo, onAdd, onMove } = props;
  const preview = useObjectUrl(photo);
  const name = sideNames[side];
  return (
    <li class="place">
      <span class="row">
        <StandingPlace side={side} />
        <strong>{name}</strong>
      </span>
      {photo ? (
        <>
          <span class="place-image">{preview && <img key={preview} src={preview} alt={photo.name} />}</span>
          <Select<PhotoSide | 'none'>
            name={`Side of ${photo.name}`}
            options={{ ...sideNames, none: 'Not used' }}
            value={side}
            onChange={onMove}
          />
        </>
      ) : (
        <label class="place-image empty-place">
          <span>Choose a photo</span>
          <input
            type="file"
            class="hidden"
            accept={photoTypes}
            aria-label={`Photo of the ${name.toLowerCase()}`}
            onChange={({ currentTarget }) => currentTarget.files?.[0] && onAdd(currentTarget.files[0])}
          />
        </label>
      )}
    </li>
  );
}

/** Asks which side of one object each photo shows. Mount it to open it. */
export function PhotoPlacesDialog(props: {
  question: string;
  explanation: string;
  photos: SidePhotos;
  confirmLabel: string;
  /** Another choice, beside this one and canceling. */
  children?: ComponentChildren;
  onConfirm: (photos: ObjectPhotos) => void;
  onCancel: () => void;
}) {
  const { question, explanation, confirmLabel, children, onConfirm, onCancel } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [photos, setPhotos] = useState(props.photos);
  useEffect(() => setPhotos(props.photos), [props.photos]);
  useEffect(() => dialog.current?.showModal(), []);
  const { front } = photos;
  const move = (from: PhotoSide, to: PhotoSide | 'none') => {
    const { [from]: moved, ...others } = photos;
    if (to === 'none') setPhotos(others);
    else setPhotos({ ...others, ...(photos[to] && { [from]: photos[to] }), [to]: moved });
  };
  return (
    <dialog ref={dialog} class="wide" aria-label={question} onClose={onCancel}>
      <h2>{question}</h2>
      <p>{explanation}</p>
      <ul class="places">
        {photoSides.map((side) => (
          <Place
            key={side}
            side={side}
            photo={photos[side]}
            onAdd={(photo) => setPhotos({ ...photos, [side]: photo })}
            onMove={(to) => move(side, to)}
          />
        ))}
      </ul>
      <div class="row end">
        <Button label="Cancel" onClick={onCancel} />
        {children}
        <Button
          label={confirmLabel}
          class="primary"
          disabled={!front || Object.keys(photos).length < 2}
          onClick={() => front && onConfirm({ ...photos, front })}
        />
      </div>
    </dialog>
  );
}

/** Asks whether photos that were added at once show one object. Answers with none if it is canceled. */
export function ObjectsDialog(props: {
  photos: readonly File[];
  onAnswer: (objects: readonly ObjectPhotos[]) => void;
}) {
  const { photos, onAnswer } = props;
  const places = useMemo(() => arranged(photos), [photos]);
  return (
    <PhotoPlacesDialog
      question="One object, or one each?"
      explanation="Photos of several sides of one object make one model. The pictures show where to stand for each."
      photos={places}
      confirmLabel="One object"
      onConfirm={(object) => onAnswer([object])}
      onCancel={() => onAnswer([])}
    >
      <Button label="One each" onClick={() => onAnswer(oneEach(photos))} />
    </PhotoPlacesDialog>
  );
}
